package rows

// Fields returns the names of the row's fields that the template uses, one for each placeholder.
func (t *Template) Fields() (all []string) {
	for _, p := range t.parts {
		if p.place {
			all = append(all, p.path[0])
		}
	}
	return all
}

// Fields returns the names of the row's fields that the value uses, one for each placeholder.
func (s Shape) Fields() (all []string) {
	switch value := s.value.(type) {
	case *Template:
		return value.Fields()
	case []Shape:
		for _, v := range value {
			all = append(all, v.Fields()...)
		}
	case []named:
		for _, n := range value {
			all = append(append(all, n.name.Fields()...), n.value.Fields()...)
		}
	}
	return all
}
