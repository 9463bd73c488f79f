package hermes

import "wirelab/wire/status"

// CheckTopic refuses a topic's name outside 1 to NameLimit bytes of A-Z a-z 0-9
// . _ - that does not begin with a dot. It is InvalidArgument. (hb-D27: a name
// with a NUL read across topics.)
func CheckTopic(name string) error { return checkName("topic", name) }

// CheckGroup is CheckTopic for a group's name; [Replay] is no group's.
func CheckGroup(name string) error {
	if name == Replay {
		return status.Errorf(status.InvalidArgument,
			"group %s stands for the whole history and cannot be a group's name",
			Replay)
	}
	return checkName("group", name)
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return status.Errorf(status.InvalidArgument, "%s is missing", what)
	case len(name) > NameLimit:
		return status.Errorf(status.InvalidArgument, "%s has %d bytes; at most %d are allowed", what, len(name),
			NameLimit)
	case name[0] == '.' || !allowed(name):
		return status.Errorf(status.InvalidArgument,
			"%s %.60q: allowed are A-Z a-z 0-9 . _ -, not beginning with a dot",
			what, name)
	}
	return nil
}

// inName is what a name may have. (hb-D27)
var inName = func() (in [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") {
		in[c] = true
	}
	return in
}()

// allowed tells whether a name has nothing else. It is asked for every message.
func allowed(name string) bool {
	for i := range len(name) {
		if !inName[name[i]] {
			return false
		}
	}
	return true
}
