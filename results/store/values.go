package store

import "slices"

// Values are the stored values for each field of a [Filter]: each value once, sorted, without "".
type Values struct {
	Names      []string `json:"names"`
	Workloads  []string `json:"workloads"`
	Operations []string `json:"operations"`
	Protocols  []string `json:"protocols"`
	Hosts      []string `json:"hosts"`
}

// Gather makes Values from the summaries of results. Stores use it, so that they all answer alike.
func Gather(all []Summary) Values {
	v := Values{
		Names: []string{}, Workloads: []string{}, Operations: []string{}, Protocols: []string{},
		Hosts: []string{},
	}
	for _, m := range all {
		v.Names = append(v.Names, m.Name)
		v.Workloads = append(v.Workloads, m.Workload)
		v.Operations = append(v.Operations, m.Operations...)
		v.Protocols = append(v.Protocols, m.Protocols...)
		v.Hosts = append(v.Hosts, m.Host)
	}
	for _, list := range []*[]string{&v.Names, &v.Workloads, &v.Operations, &v.Protocols, &v.Hosts} {
		slices.Sort(*list)
		*list = slices.DeleteFunc(slices.Compact(*list), func(s string) bool { return s == "" })
	}
	return v
}
