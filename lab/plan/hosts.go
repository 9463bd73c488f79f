package plan

import "time"

// Hosts names the machines of an experiment over hosts. Where it names none of a role, every host of it is used.
type Hosts struct {
	Servers []string `json:"servers,omitempty" yaml:"servers,omitempty"`
	Drivers []string `json:"drivers,omitempty" yaml:"drivers,omitempty"`
	// Joined is that the experiment runs over hosts, whether it names them or not.
	Joined bool `json:"joined,omitempty" yaml:"joined,omitempty"`
}

// Used reports whether the experiment runs over hosts.
func (h Hosts) Used() bool { return h.Joined || len(h.Servers)+len(h.Drivers) > 0 }

// sliceHosts is the shortest slice of several drivers: they begin within a hundredth of it of each other.
const sliceHosts = Duration(time.Second)

// checkHosts refuses what does not run over hosts.
func (p Plan) checkHosts() error {
	if !p.Hosts.Used() {
		return nil
	}
	refuse := func(what, why string) error { return bad("hosts", what, why) }
	switch {
	case p.Network != "":
		return refuse("with network", "over hosts the network is the one between them: leave network out")
	case len(p.External) > 0:
		return refuse("with an external service", "give its address as target= of an arm")
	case p.tooled():
		return refuse("with driver=tool", "another load generator runs on this machine only")
	case !p.traits().calls:
		return refuse("with this load", "over hosts loads are calls")
	}
	for _, a := range p.Arms {
		switch {
		case a.Direct():
			return refuse("with arm "+a.Name, "it is a database, which is not reached over hosts")
		case a.Hops > 0 || a.PID != 0:
			return refuse("with arm "+a.Name, "leave out hops and pid: they are of one machine")
		}
	}
	if len(p.Databases()) > 0 {
		return refuse("with a database", "its address would have to travel to the hosts, and does not")
	}
	return nil
}
