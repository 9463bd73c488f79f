package resulttest

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Absent returns a result of log-grpc and log-http with 50 calls in flight. The plan had log-rabbit before them and
// log-rabbit-direct after them, but the machine had no RabbitMQ. There are published figures for log-rabbit and
// log-http.
func Absent() *result.Result {
	r := Ways(12, plan.Load{InFlight: 50},
		Way{
			Name: "log-grpc", Answer: 700 * time.Microsecond, CPU: 210 * time.Microsecond, Guarantee: &result.Guarantee{},
			Database: "SQLite 3.54.1",
		},
		Way{
			Name: "log-http", Answer: 810 * time.Microsecond, CPU: 260 * time.Microsecond, Guarantee: &result.Guarantee{},
			Database: "SQLite 3.54.1",
		},
	)
	const why = "RabbitMQ is not installed; apt-get install rabbitmq-server"
	figure := func(arm string, mean plan.Duration) plan.Published {
		return plan.Published{Source: "an example write-up, table 2", Machine: "not stated", Arm: arm, Mean: mean}
	}
	r.Plan.Published = []plan.Published{figure("log-http", 9.7e6)}
	r.Absent = []result.Absent{
		{
			Arm: plan.Arm{Name: "log-rabbit", Protocol: "log-rabbit"}, Place: 0, Why: why,
			Published: []plan.Published{figure("log-rabbit", 1.2e7)},
		},
		{Arm: plan.Arm{Name: "log-rabbit-direct", Protocol: "log-rabbit-direct"}, Place: 3, Why: why},
	}
	return r
}
