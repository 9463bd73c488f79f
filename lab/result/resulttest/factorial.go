package resulttest

import (
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Effects are the true effects of the levels of a factorial design on every cost, as logarithms; 0 for those that are
// not named. The keys are "gRPC", "Avro", "TLS", "data 100", and pairs of them joined by " × ", in the order of the
// arms' names.
type Effects map[string]float64

// FactorialArms returns the arms of transport × encoding × TLS, as "wirelab explain" makes them: http1-json first.
func FactorialArms(costs Effects, data ...string) []Arm {
	if len(data) == 0 {
		data = []string{""}
	}
	var arms []Arm
	for _, set := range data {
		for _, transport := range []struct {
			name, is, framing, library string
			multiplexed                bool
		}{
			{"http1", "HTTP/1.1", "HTTP", "net/http", false},
			{"http2", "HTTP/2", "HTTP", "net/http", true},
			{"grpc", "HTTP/2", "gRPC", "grpc-go", true},
		} {
			for _, encoding := range []struct{ name, is string }{
				{"json", "JSON"},
				{"proto", "Protocol Buffers"},
				{"avro", "Avro"},
			} {
				for _, secure := range []bool{false, true} {
					levels := []string{transport.is, encoding.is}
					name := transport.name
					if transport.framing == "gRPC" {
						levels[0] = transport.framing
					}
					if secure {
						name, levels = name+"-tls", append(levels, "TLS")
					}
					if name += "-" + encoding.name; set != "" {
						levels = append(levels, "data "+set)
						name += ",data=" + set
					}
					arms = append(arms, Arm{
						Name: name, Protocol: transport.name + "-" + encoding.name, Server: transport.library,
						Client:      transport.library,
						Multiplexed: transport.multiplexed, Transport: transport.is, Framing: transport.framing,
						Encoding: encoding.is,
						Secure:   secure, Data: set,
					}.costing(math.Exp(costs.of(levels))))
				}
			}
		}
	}
	return arms
}

// of adds up the effects of levels and of their pairs.
func (e Effects) of(levels []string) float64 {
	sum := 0.0
	for i, level := range levels {
		sum += e[level]
		for _, earlier := range levels[:i] {
			sum += e[earlier+" × "+level]
		}
	}
	return sum
}

// costing multiplies an arm's costs by a factor.
func (a Arm) costing(times float64) Arm {
	a.ServerCPU, a.ClientCPU = time.Duration(24000*times), time.Duration(21000*times)
	a.Response = time.Duration(60000 * times)
	a.Sent, a.Received = uint64(200*times), uint64(400*times)
	a.ServerAllocs, a.ClientAllocs = uint64(100*times), uint64(120*times)
	return a
}

// Factorial returns a result of 18 arms in 14 rounds with the given effects, without the arms named in drop.
func Factorial(seed uint64, costs Effects, drop ...string) *result.Result {
	arms := slices.DeleteFunc(FactorialArms(costs), func(a Arm) bool { return slices.Contains(drop, a.Name) })
	return Make(Setting{
		Name: "explain", About: "Which part of a call is framing, which encoding, which TLS?", Arms: arms,
		Loads: []plan.Load{{InFlight: 1}}, Rounds: 14, Seed: seed,
	})
}
