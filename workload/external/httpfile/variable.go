package httpfile

import "strings"

// mostDepth is how often the value of a variable may name another, and mostSpent what their values may take in all:
// a few lines can name each other so that the last has more bytes than any memory, or takes more time than there is.
const (
	mostDepth = 32
	mostSpent = 256 << 20
	eachSpent = 64
)

// filled returns a text of the line with an index, with the values of its variables.
func (r *reader) filled(i int, text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	return r.fill(i, text, 0)
}

func (r *reader) fill(i int, text string, depth int) (string, error) {
	if r.spent += len(text) + eachSpent; r.spent > mostSpent {
		return "", r.faultf(i, "the values of variables have more than %d MiB in all; put long texts into files",
			mostSpent>>20)
	}
	if depth > mostDepth {
		return "", r.faultf(i, "the variables name each other without an end; give one of them a plain value")
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			// A body of JSON may have two braces: only a pair of both names a variable.
			b.WriteString("{{" + rest)
			return b.String(), nil
		}
		if strings.ContainsAny(name, "{}\n\"") {
			b.WriteString("{{")
			text = rest
			continue
		}
		value, err := r.variable(i, strings.TrimSpace(name), depth)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = after
	}
}

// variable returns the value of one.
func (r *reader) variable(i int, name string, depth int) (string, error) {
	if value, known := r.vars[name]; known {
		return r.fill(i, value, depth+1)
	}
	// A percent sign asks the editor to encode the value.
	if value, known := r.vars[strings.TrimPrefix(name, "%")]; known {
		return r.fill(i, value, depth+1)
	}
	word, argument, _ := strings.Cut(name, " ")
	switch {
	case word == "$processEnv" || word == "$dotenv":
		return r.environment(i, strings.TrimPrefix(strings.TrimSpace(argument), "%"))
	case strings.HasPrefix(name, "$env."):
		return r.environment(i, name[len("$env."):])
	case strings.HasPrefix(name, "$"):
		return "", r.faultf(i,
			"{{%s}} is made by an editor, often anew at each call; write a value, or take it from rows",
			short(name))
	case strings.Contains(name, ".response.") || strings.Contains(name, ".request."):
		return "", r.faultf(i, "{{%s}} is taken from another reply; write a value, or a session of steps", short(name))
	}
	if value, known := r.from.Variable(name); known {
		return value, nil
	}
	return "", r.faultf(i, "the variable {{%s}} is not set; write @%[1]s = value above, or set it in the environment",
		short(name))
}

func (r *reader) environment(i int, name string) (string, error) {
	if value, known := r.from.Variable(name); known {
		return value, nil
	}
	return "", r.faultf(i, "the variable %s of the environment is not set; set it", short(name))
}
