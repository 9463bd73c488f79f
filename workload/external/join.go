package external

import (
	"encoding/json"
	"slices"

	"wirelab"
)

// Join makes one service of several, so that they can be compared. Wires are then named with their service, such as
// shop-rest. An operation is shared if it has the same name in each.
func Join(name string, all ...Prepared) (Prepared, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	joined := Prepared{Service: name}
	for _, p := range all {
		joined.Secrets = append(joined.Secrets, p.Secrets...)
		for _, w := range p.Wires {
			w.Name = p.Service + "-" + w.Name
			if _, twice := joined.wire(w.Name); twice {
				return joined, wirelab.Errorf(wirelab.InvalidArgument,
					"two services have a wire %s: give one of them another name", w.Name)
			}
			joined.Wires = append(joined.Wires, w)
		}
		for _, o := range p.Operations {
			renamed := map[string]Calls{}
			for wire, calls := range o.Calls {
				renamed[p.Service+"-"+wire] = calls
			}
			o.Calls = renamed
			at := slices.IndexFunc(joined.Operations, func(other Operation) bool { return other.Name == o.Name })
			if at < 0 {
				joined.Operations = append(joined.Operations, o)
				continue
			}
			for wire, calls := range renamed {
				joined.Operations[at].Calls[wire] = calls
			}
			joined.Operations[at].Repeatable = joined.Operations[at].Repeatable && o.Repeatable
		}
	}
	// Each service fits in one line to a driver. All of them together are one line, too.
	if text, err := json.Marshal(joined); err != nil || len(text) > bytesLimit {
		return joined, wirelab.Errorf(wirelab.InvalidArgument,
			"the services have requests of more than %d MiB together, as drivers get them; give fewer rows, or "+
				"smaller ones", bytesLimit>>20)
	}
	return joined, joined.check()
}
