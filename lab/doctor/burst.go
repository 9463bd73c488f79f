package doctor

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
)

// BurstName is the plan name of calibration runs. Stored results with that name may hold a calibration.
const BurstName = "doctor"

// The settings of a calibration run. Fewer rounds than [claim.MinRounds] calibrate nothing, so a run takes at least as
// long as those need.
const (
	burstSlices = 5
	burstSlice  = plan.Duration(30 * time.Millisecond)
	burstWarmUp = plan.Duration(60 * time.Millisecond)
	burstRounds = 1000
)

// Burst returns the plan of a calibration run. It compares an arm with itself for about the given time, in short rounds
// so that there are many. Its call is the cheapest one over a wire that every build has, since the noise of a machine
// shows most in it.
func Burst(long time.Duration, driver string) plan.Plan {
	arm := plan.Arm{Protocol: "http1-proto", Driver: driver}
	return plan.Plan{
		Name: BurstName, About: "What can this machine tell apart?",
		Workload: "routeguide", Operation: "GetFeature",
		Arms: []plan.Arm{arm, arm}, Loads: []plan.Load{{InFlight: 1}},
		Rounds: plan.Rounds{Min: claim.MinRounds, Max: burstRounds}, For: plan.Duration(long),
		Slices: burstSlices, Slice: burstSlice, WarmUp: burstWarmUp, Floor: plan.FloorNone,
	}
}
