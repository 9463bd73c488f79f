package fault

import (
	"regexp"
	"strings"

	"wirelab/wire/status"
)

// texts are what libraries leave of an error that they met below: its text, in theirs. The address of a
// connection and the name of a file are kept.
var texts = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	// gRPC keeps the text of what its dialler returned.
	{regexp.MustCompile(`connection error: desc = "transport: Error while dialing: (.*?)"`), "$1"},
	{
		regexp.MustCompile(`connection error: desc = "transport: authentication handshake failed: (.*?)"`),
		"the TLS handshake failed: $1",
	},
	{regexp.MustCompile(`connection error: desc = "error reading server preface: .*?"`), "it does not speak gRPC in " +
		"the clear"},
	{regexp.MustCompile(`connection error: desc = "(.*?)"`), "$1"},
	{regexp.MustCompile(`rpc error: code = \w+ desc = `), ""},
	{
		regexp.MustCompile(`context deadline exceeded while waiting for connections to become ready`),
		"no connection in time",
	},
	{regexp.MustCompile(`received context error while waiting for new LB policy update: `), ""},
	// WebSocket and HTTP.
	{regexp.MustCompile(`failed to WebSocket dial: failed to send handshake request: (?:Get "[^"]*": )?`), ""},
	{regexp.MustCompile(`failed to WebSocket dial: `), ""},
	{regexp.MustCompile(`\b(?:Get|Post|Put|Head|Delete) "[^"]*": `), ""},
	{regexp.MustCompile(`net/http: request canceled while waiting for connection \(Client.Timeout exceeded while awaiting headers\)`), "no answer in time"},
	{regexp.MustCompile(`http: server gave HTTP response to HTTPS client`), "it speaks plain HTTP, not HTTPS"},
	// PostgreSQL's and the brokers' clients.
	{regexp.MustCompile("failed to connect to `[^`]*`: "), ""},
	{regexp.MustCompile(`hostname resolving error: `), ""},
	{regexp.MustCompile(`nats: no servers available for connection`), "no NATS server answers there"},
	{regexp.MustCompile(`nats: timeout`), "NATS did not answer in time"},
	{regexp.MustCompile(`Exception \(\d+\) Reason: "(.*?)"`), "$1"},
	// SQLite.
	{regexp.MustCompile(`unable to open database file(?: \(\d+\))?`), "the file or its folder cannot be opened"},
	{regexp.MustCompile(`database or disk is full(?: \(\d+\))?`), "the disk is full"},
	{regexp.MustCompile(`attempt to write a readonly database(?: \(\d+\))?`), "the file is read-only"},
	{
		regexp.MustCompile(`disk I/O error \(4874\)`),
		"there is no room for it: the disk is probably full",
	}, // IOERR_SHMSIZE
	// Package json.
	{regexp.MustCompile(`invalid character '(.*?)' (?:looking for beginning of (?:object key string|value)|after (?:top-level value|object key(?::value pair)?|array element)|in (?:literal \w+ \(expecting '.'\)|string literal|string escape code|numeric literal))`), "it is not JSON: '$1' stands where it must not"},
	{regexp.MustCompile(`unexpected end of JSON input|\b(?:unexpected )?EOF\b`), "it ends too early"},
	{regexp.MustCompile(`json: unknown field "(.*?)"`), `it has a field "$1", which is not known`},
	{
		regexp.MustCompile(`json: cannot unmarshal number (-?\d\S*) into Go struct field \w+\.([\w.]+) of type \S+`),
		"$2 is $1, which does not fit",
	},
	{
		regexp.MustCompile(`json: cannot unmarshal (array|object) into Go value of type \S+`),
		"it is an $1, which does not fit",
	},
	{regexp.MustCompile(`json: cannot unmarshal (\w+) into Go value of type \S+`), "it is a $1, which does not fit"},
	{
		regexp.MustCompile(`json: cannot unmarshal (array|object) into Go struct field \w+\.([\w.]+) of type \S+`),
		"$2 is an $1, which does not fit",
	},
	{
		regexp.MustCompile(`json: cannot unmarshal (\w+) into Go struct field \w+\.([\w.]+) of type \S+`),
		"$2 is a $1, which does not fit",
	},
	{regexp.MustCompile(`(^|[ (])json: `), "$1"}, // not of a file's name: "result.json: "
	// YAML.
	{regexp.MustCompile(`sequence end token '\]' not found`), "a list that begins with [ does not end with ]"},
	{regexp.MustCompile(`could not find flow mapping end token '\}'`), "a { is never closed with }"},
	// Package strconv and time.
	{
		regexp.MustCompile(`strconv\.\w+: parsing (".*?"): (?:invalid syntax|value out of range)`),
		"$1 is not a number that fits",
	},
	{
		regexp.MustCompile(`time: (?:missing unit in|invalid|unknown unit ".*?" in) duration (".*?")`),
		"$1 is not a time, such as 500ms, 30s or 5m",
	},
	// What stands below all of them.
	{regexp.MustCompile(`listen (?:tcp|udp)\d? (\S+): bind: address already in use`), "cannot listen at $1: another " +
		"program uses this port"},
	{regexp.MustCompile(`dial (?:tcp|udp)\d? (\S+): connect: connection refused`), "nothing listens at $1"},
	{regexp.MustCompile(`(?:connect: )?connection refused`), "nothing listens there"},
	{regexp.MustCompile(`dial (?:tcp|udp)\d? (\S+): i/o timeout`), "$1 did not answer in time"},
	{regexp.MustCompile(`dial (?:tcp|udp)\d?: lookup (\S+?)(?: on \S+)?: (?:no such host|server misbehaving|Temporary failure.*)`), "there is no host $1"},
	{
		regexp.MustCompile(`dial (?:tcp|udp)\d?: address (\S+): missing port in address`),
		"$1 has no port; write HOST:PORT",
	},
	{
		regexp.MustCompile(`dial (?:tcp|udp)\d? (\S+): connect: (?:network is unreachable|no route to host)`),
		"there is no way to $1",
	},
	{regexp.MustCompile(`(?:read|write) (?:tcp|udp)\d? \S+->(\S+): (?:read|write): (?:connection reset by peer|broken pipe)`), "$1 closed the connection"},
	{regexp.MustCompile(`dial (?:tcp|udp)\d? (\S+): `), "$1: "},
	{regexp.MustCompile(`\b(?:open|stat|lstat|read|mkdir|write|chdir|fork/exec|rename|remove) (\S+): no such file or directory`), "there is no file or folder $1"},
	{
		regexp.MustCompile(`\b(?:open|stat|lstat|read|mkdir|write|chdir|fork/exec|rename|remove) (\S+): permission denied`),
		"no permission for $1",
	},
	{regexp.MustCompile(`\b(?:open|read|write) (\S+): is a directory`), "$1: it is a folder, not a file"},
	{regexp.MustCompile(`\b(?:open|stat|lstat|read|mkdir|write|chdir|fork/exec|rename|remove) (\S+): (not a directory|read-only file system|no space left on device)`), "$1: $2"},
	{regexp.MustCompile(`\bnot a directory\b`), "a part of this path is a file, not a folder"},
	{regexp.MustCompile(`\bread-only file system\b`), "the disk is read-only"},
	{regexp.MustCompile(`no space left on device`), "the disk is full"},
	{
		regexp.MustCompile(`exec: "(.*?)": executable file not found in \$PATH`),
		"the program $1 is not installed, or not " +
			"on the PATH",
	},
	{regexp.MustCompile(`\bsignal: killed\b`), "it was killed (signal 9)"},
	{regexp.MustCompile(`\bsignal: terminated\b`), "it was told to end (signal 15)"},
	{regexp.MustCompile(`\bexit status (\d+)\b`), "it ended with exit code $1"},
	{regexp.MustCompile(`\bcontext deadline exceeded\b|\bdeadline exceeded\b|\bi/o timeout\b`), "no answer in time"},
	{regexp.MustCompile(`\bcontext canceled\b`), "interrupted"},
}

// Plain replaces the words of the system and of libraries in a text that has lost the error it was made from.
func Plain(text string) string {
	for _, t := range texts {
		text = t.theirs.ReplaceAllString(text, t.ours)
	}
	text = coded.ReplaceAllString(text, "$1")
	text = doubled.ReplaceAllStringFunc(text, func(said string) string {
		if parts := doubled.FindStringSubmatch(said); parts[1] == parts[2] {
			return parts[2] + parts[3]
		}
		return said
	})
	return once.ReplaceAllStringFunc(text, func(said string) string {
		if parts := once.FindStringSubmatch(said); parts[2] == parts[4] {
			between := ""
			if parts[1] != "" { // "GetFeature at HOST:PORT: nothing …": what comes before stays
				between = ": "
			}
			return between + parts[3] + parts[4]
		}
		return said
	})
}

// coded finds our codes where an error begins in a text: "the first call failed: unavailable: …". Errors that
// crossed from one process to another as text have them, and only programs decide by them.
var coded = regexp.MustCompile(`(^|[:;,] |\()(?:(?:` + strings.Join(codes(), "|") + `): )+`)

func codes() []string {
	var names []string
	for _, c := range status.Codes() {
		names = append(names, c.String())
	}
	return names
}

// doubled finds an address before the text about it: "HOST:PORT: HOST:PORT closed the connection".
var doubled = regexp.MustCompile(`(\S+): (\S+)( closed the connection| did not answer in time)`)

// once finds an address that is reported twice: "HOST:PORT: nothing listens at HOST:PORT".
var once = regexp.MustCompile(`( at )?(\S+): (nothing listens at |there is no way to )(\S+\w)`)
