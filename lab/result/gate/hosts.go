package gate

import (
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// driverCores is how many cores a driver may run on. Of several on hosts it is the fewest: what they used is added up,
// with the time in which they did, so that one of them is held to what one has.
func (s *Subject) driverCores() int {
	return s.hostCores(result.RoleDriver, s.Result.Placement.DriverCPUs)
}

// serverCores is how many cores a server may run on.
func (s *Subject) serverCores() int {
	return s.hostCores(result.RoleServer, s.Result.Placement.ServerCPUs)
}

func (s *Subject) hostCores(role string, pinned []int) int {
	if s.Host != "" && role == result.RoleDriver {
		return s.Result.HostCores(s.Host)
	}
	if fewest := s.Result.FewestCores(role); fewest > 0 {
		return fewest
	}
	return s.Cores(pinned)
}

// EachDriver holds every one of several drivers to the checks on a generator, by what it measured itself: one that was
// too slow is not to hide among those that were not. Checks that failed are added with the name of the host.
func (s *Subject) EachDriver() {
	if len(s.Trials) == 0 || len(s.Trials[0].Drivers) < 2 {
		return
	}
	for i := range s.Trials[0].Drivers {
		one := *s
		one.Host, one.State, one.Trials = s.Trials[0].Drivers[i].Host, &claim.ArmState{}, nil
		one.responses, one.services, one.lags, one.owns = nil, nil, nil, nil
		for _, t := range s.Trials {
			if i < len(t.Drivers) {
				one.Trials = append(one.Trials, alone(t, t.Drivers[i]))
			}
		}
		if len(one.Trials) != len(s.Trials) {
			continue // the stored text contradicts itself, which another check says
		}
		one.All = Sum(one.Trials)
		one.Generator()
		if s.Load.Open() {
			one.lateness()
		}
		for _, c := range one.State.Checks {
			if !c.OK {
				c.Detail = "on host " + one.Host + ": " + c.Detail
				s.Add(c)
			}
		}
	}
}

// alone is a trial with what one driver measured of it.
func alone(t *result.Trial, d result.DriverShare) *result.Trial {
	one := *t
	one.Driver, one.Drivers = &d.Usage, nil
	one.Planned, one.Sent, one.OK, one.Late, one.Unsent = d.Planned, d.Sent, d.OK, d.Late, d.Unsent
	one.Response, one.Service, one.Lag, one.Wake = d.Response, d.Service, d.Lag, d.Wake
	one.Punctual, one.Outside = nil, nil // they are known of all drivers together only
	return &one
}
