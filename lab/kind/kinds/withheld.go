package kinds

import (
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
)

// The figures of an arm that some forms have and that are no metrics.
const (
	LeastResponse = "least-response"
	MostResponse  = "most-response"
	DriverCPU     = "driver-cpu" // of the driver as a whole, not for each request
)

// Withheld tells why a figure of the arm, a metric or one of those above, may not be given; "" if it may. It decides
// for every form that there is: reports, SQL, the API and all exports ask it, or [claim.ArmState.Why], or have an
// [claim.Estimate], which was made by it. A figure that is no metric goes with the metric that it is nearest to.
func Withheld(s *claim.ArmState, figure string) string {
	switch figure {
	case LeastResponse:
		figure = plan.ResponseP50
	case MostResponse:
		figure = plan.ResponseP999
	case DriverCPU:
		figure = plan.ClientCPU
	}
	return s.Why(MustMetric(figure))
}
