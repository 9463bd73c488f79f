package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"wirelab"
)

// decimal is a number as people type it. strconv would also accept exponents, hexadecimal and "inf", which are more
// often typing errors.
var decimal = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,18})?$`)

// ParseUntil reads the interval width at which to stop, "±2%" or "2%", and returns it as a share: 0.02. Its range is
// that of [Plan.Until].
func ParseUntil(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	for _, sign := range []string{"±", "+-", "+/-"} {
		number = strings.TrimPrefix(number, sign)
	}
	number = strings.TrimSpace(number)
	if !percent || !decimal.MatchString(number) {
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "until %.40q is not a percentage: write 2%% or ±2%%", text)
	}
	// With an exponent instead of a division, "2" becomes exactly the number that "0.02" reads as.
	share, err := strconv.ParseFloat(number+"e-2", 64)
	if err != nil || share < untilMin || share > untilMax {
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "until %.40q is outside ±%g%% to ±%g%%",
			text, 100*untilMin, 100*untilMax)
	}
	return share, nil
}

// ParseRate reads a number of requests per second: "1500", "2k", "1.5k" or "2M", each also with "/s". Its range is
// that of [Load.Rate].
func ParseRate(text string) (float64, error) {
	number := strings.TrimSuffix(strings.TrimSpace(text), "/s")
	exponent := ""
	for suffix, e := range map[string]string{"k": "e3", "M": "e6"} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, exponent = rest, e
			break
		}
	}
	if !decimal.MatchString(number) {
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"rate %.40q is not requests per second: write 1500, 2k or 1.5M", text)
	}
	rate, err := strconv.ParseFloat(number+exponent, 64)
	if err != nil || rate < rateMin || rate > rateMax {
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "rate %.40q is outside %g/s to %.0f/s", text, rateMin,
			rateMax)
	}
	return rate, nil
}

// String returns the arm in the form that [ParseArm] reads: "grpc,client=connect-go,connections=4". The name comes
// last, and only if it differs from the rest of the text.
func (a Arm) String() string {
	text := a.settings()
	if a.Name != "" && a.Name != text {
		text += ",name=" + a.Name
	}
	return text
}

// settings is the arm's text without its name.
func (a Arm) settings() string {
	var text strings.Builder
	text.WriteString(a.Protocol)
	for _, s := range []struct{ key, value string }{
		{"server", a.Server},
		{"client", a.Client},
		{"driver", a.Driver},
		{"inject", a.Inject},
		{"data", a.Data},
		{"db", a.Database},
		{"queue", a.Queue},
		{"durability", a.Durability},
		{"connections", counted(a.Connections)},
		{"hops", counted(a.Hops)},
		{"target", a.Target},
		{"pid", counted(a.PID)},
	} {
		if s.value != "" {
			fmt.Fprintf(&text, ",%s=%s", s.key, s.value)
		}
	}
	return text.String()
}

// counted writes a number of an arm's text; 0, which means not given, becomes "".
func counted(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// ParseArm reads an arm: a protocol, then settings separated by commas, each at most once: server, client, driver,
// inject, data, db, queue, durability, connections, hops, target, pid, name. Everything after "name=" is the name,
// with its commas. ParseArm does not know whether the protocol and libraries exist.
func ParseArm(text string) (Arm, error) {
	protocol, rest, more := strings.Cut(text, ",")
	arm := Arm{Protocol: protocol}
	seen := map[string]bool{}
	for more {
		var setting string
		if strings.HasPrefix(rest, "name=") {
			setting, rest, more = rest, "", false
		} else {
			setting, rest, more = strings.Cut(rest, ",")
		}
		key, value, ok := strings.Cut(setting, "=")
		if !ok || value == "" {
			return Arm{}, wirelab.Errorf(wirelab.InvalidArgument,
				"arm %.100q: %.40q is not a setting; write PROTOCOL,client=LIBRARY,connections=4", text, setting)
		}
		if seen[key] {
			return Arm{}, wirelab.Errorf(wirelab.InvalidArgument, "arm %.100q sets %s twice", text, key)
		}
		seen[key] = true
		if err := arm.set(key, value); err != nil {
			return Arm{}, wirelab.Public(err).Behind(fmt.Sprintf("arm %.100q: ", text))
		}
	}
	if err := arm.check(); err != nil {
		return Arm{}, wirelab.Public(err).Behind(fmt.Sprintf("arm %.100q: ", text))
	}
	return arm, nil
}

// set applies one setting of an arm's text.
func (a *Arm) set(key, value string) error {
	switch key {
	case "server":
		a.Server = value
	case "client":
		a.Client = value
	case "driver":
		a.Driver = value
	case "inject":
		a.Inject = value
	case "data":
		a.Data = value
	case "db":
		a.Database = value
	case "queue":
		a.Queue = value
	case "durability":
		a.Durability = value
	case "target":
		a.Target = value
	case "pid":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return bad("pid", value, "the id of a process, as pgrep shows it")
		}
		a.PID = n
	case "name":
		a.Name = value
	case "hops":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return bad("hops", value, fmt.Sprintf("1 to %d", hopsMax))
		}
		a.Hops = n
	case "connections":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return bad("connections", value, fmt.Sprintf("1 to %d", connectionsMax))
		}
		a.Connections = n
	default:
		return wirelab.UnknownName("setting", key,
			[]string{
				"server", "client", "driver", "inject", "data", "db", "queue", "durability", "connections",
				"target", "pid", "name",
			})
	}
	return nil
}

// String describes the load: "50 in flight", "2000/s poisson", "100/s to 2000/s in 30s". If it has its own operation,
// that comes first: "GetPerson, 4 in flight".
func (l Load) String() string {
	switch {
	case l.Operation != "" && l.Requests != "":
		return l.Operation + " (" + l.Requests + "), " + l.Pace()
	case l.Operation != "":
		return l.Operation + ", " + l.Pace()
	case l.Requests != "":
		return l.Requests + ", " + l.Pace()
	}
	return l.Pace()
}

// Pace describes the load without its operation.
func (l Load) Pace() string {
	pace := l.traits().pace
	switch {
	case pace != nil:
		return pace(l)
	case len(l.Stages) > 0:
		parts := make([]string, len(l.Stages))
		for i, s := range l.Stages {
			parts[i] = fmt.Sprintf("%s/s to %s/s in %s", number(s.From), number(s.To), s.For)
		}
		return strings.Join(parts, ", then ")
	case l.Rate > 0:
		if l.Arrivals == "" && !l.Recording.Given() {
			return number(l.Rate) + "/s"
		}
		return l.speed() + " " + l.law()
	case l.Recording.Given():
		return "as recorded in " + l.Recording.Name
	}
	return fmt.Sprintf("%d in flight", max(l.InFlight, 1))
}

// speed is the rate. The rate of a recording is rounded to four digits.
func (l Load) speed() string {
	if l.Recording.Given() {
		return strconv.FormatFloat(l.Rate, 'g', 4, 64) + "/s"
	}
	return number(l.Rate) + "/s"
}

// law describes how the calls of an open load arrive.
func (l Load) law() string {
	switch {
	case l.Recording.Given():
		return l.Arrivals + " from " + l.Recording.Name
	case l.Spread != 0:
		return l.Arrivals + ", spread " + number(l.Spread)
	}
	return l.Arrivals
}

// LawWords describes how the calls or sends of an open load arrive. In a sentence it follows the rate.
func (l Load) LawWords() string {
	switch l.Arrivals {
	case Constant:
		return "at even intervals"
	case LogNormal:
		return fmt.Sprintf("log-normal, spread %.3g", l.Spread)
	case Recorded:
		return "as in " + l.Recording.Name + l.faster()
	case Sampled:
		return "drawn from " + l.Recording.Name + l.faster()
	}
	return "Poisson"
}

// faster says how much faster than recorded a recording is replayed.
func (l Load) faster() string {
	faster := l.Rate / l.Recording.Rate()
	if faster > 0.999 && faster < 1.001 {
		return ""
	}
	return fmt.Sprintf(", %.3g × as fast", faster)
}

// Thousands writes a whole number with thousands separators: "1,024".
func Thousands(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// number writes a rate without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
