package doctor

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
)

// BurstName is the plan name of bursts; stored results of that name may hold
// a certificate.
const BurstName = "doctor"

// The bounds of a burst. Fewer rounds than [claim.MinRounds] certify nothing,
// so one that is to be shorter than those take is longer.
const (
	burstSlices = 5
	burstSlice  = plan.Duration(30 * time.Millisecond)
	burstWarmUp = plan.Duration(60 * time.Millisecond)
	burstRounds = 1000
)

// Burst is the plan of a comparison of a thing with itself, for about as long
// as said, in short rounds so that there are many. What is compared is the
// cheapest call there is over a wire that everybody has, since what a machine
// adds shows most in it.
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
