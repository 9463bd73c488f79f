package curl

import (
	"maps"
	"slices"
	"strings"

	"wirelab/internal/nearest"
)

// effect is what an option does to a request.
type effect int

const (
	ignored effect = iota // changes nothing that is sent
	noted                 // is wirelab's to say, and said in a note
	refused               // cannot be done here
	sets                  // sets something of the request
)

// option is one of curl's.
type option struct {
	effect effect
	takes  bool   // a word follows
	why    string // of one that is noted or refused: what would be right
}

// short are the names of the options with one letter.
var short = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'F': "form", 'u': "user", 'G': "get", 'b': "cookie", 'A': "user-agent",
	'e': "referer", 'I': "head", 'T': "upload-file", 'r': "range", 'k': "insecure", 's': "silent", 'S': "show-error",
	'L': "location", 'v': "verbose", 'i': "include", 'f': "fail", 'N': "no-buffer", '#': "progress-bar", '0': "http1.0",
	'4': "ipv4", '6': "ipv6", 'g': "globoff", 'J': "remote-header-name", 'O': "remote-name", 'R': "remote-time",
	'q': "disable", 'j': "junk-session-cookies", 'o': "output", 'w': "write-out", 'm': "max-time", 'c': "cookie-jar",
	'D': "dump-header", 'E': "cert", 'x': "proxy", 'U': "proxy-user", 'y': "speed-time", 'Y': "speed-limit",
	'K': "config",
	'Z': "parallel", ':': "next", 'z': "time-cond", 'C': "continue-at", 'p': "proxytunnel", '1': "tlsv1", '2': "sslv2",
	'3': "sslv3", 'n': "netrc", 'a': "append", 'B': "use-ascii", 'l': "list-only", 'Q': "quote", 't': "telnet-option",
	'P': "ftp-port", 'h': "help", 'V': "version", 'M': "manual",
}

// aliases are the other names of options.
var aliases = map[string]string{
	"data-ascii": "data", "show-headers": "include",
}

const (
	aimed    = "give it to wirelab: it is of the connection and not of the request"
	answered = "the server must be asked first for it; write the header field with -H"
)

// options are those that are known, by their long names.
var options = build()

func build() map[string]option {
	all := map[string]option{}
	add := func(o option, names string) {
		for name := range strings.FieldsSeq(names) {
			all[name] = o
		}
	}
	add(option{effect: sets}, "get head globoff next basic compressed")
	add(option{effect: sets, takes: true}, `request header data data-raw data-binary data-urlencode json user cookie
		user-agent referer url upload-file range oauth2-bearer url-query`)
	add(option{}, `silent show-error verbose include fail fail-with-body fail-early buffer no-buffer progress-bar
		progress-meter remote-header-name remote-name remote-name-all remote-time disable junk-session-cookies parallel
		parallel-immediate tcp-nodelay keepalive alpn npn sessionid ssl-allow-beast ssl-no-revoke styled-output
		create-dirs raw trace-time trace-ids no-clobber clobber skip-existing tr-encoding http0.9 ca-native xattr
		remove-on-error false-start`)
	add(option{takes: true}, `output output-dir write-out cookie-jar dump-header limit-rate retry retry-delay
		retry-max-time trace trace-ascii stderr keepalive-time keepalive-cnt speed-time speed-limit max-redirs
		parallel-max max-filesize proto proto-default proto-redir create-file-mode rate libcurl trace-config etag-save
		ipfs-gateway`)
	add(option{}, "retry-connrefused retry-all-errors")
	add(option{effect: noted, why: aimed}, `insecure http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ipv4
		ipv6 tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 sslv2 sslv3 ssl ssl-reqd tcp-fastopen proxytunnel proxy-insecure
		path-as-is doh-insecure cert-status mptcp haproxy-protocol`)
	add(option{effect: noted, takes: true, why: aimed}, `cacert capath cert cert-type key key-type pass ciphers
		tls13-ciphers tls-max curves resolve connect-to interface unix-socket abstract-unix-socket dns-servers
		dns-interface local-port proxy preproxy noproxy proxy-user proxy-header proxy-cacert proxy-cert proxy-key socks4
		socks4a socks5 socks5-hostname max-time connect-timeout expect100-timeout happy-eyeballs-timeout-ms engine
		pinnedpubkey crlfile doh-url haproxy-clientip sigalgs`)
	add(option{effect: noted, why: "wirelab takes a redirect as the reply; write the URL that it leads to"},
		"location location-trusted follow post301 post302 post303")
	add(option{effect: refused, why: answered}, "digest ntlm negotiate anyauth ntlm-wb")
	add(option{effect: refused, takes: true, why: answered}, "aws-sigv4 delegation")
	add(option{
		effect: refused, takes: true,
		why: "its parts are separated by a random text that curl makes anew each " +
			"time; write the whole body into a file, then --data-binary @FILE and -H with the Content-Type and its " +
			"boundary",
	},
		"form form-string")
	add(option{effect: refused, takes: true, why: "write the options of that file into the command"}, "config")
	add(option{effect: refused, takes: true, why: "write the value itself"},
		"variable expand-url expand-data expand-header")
	add(option{effect: refused, takes: true, why: "write the header field with -H"},
		"time-cond continue-at etag-compare netrc-file")
	add(option{effect: refused, why: "write the header field with -H"}, "netrc netrc-optional")
	add(option{effect: refused, why: "it belongs to another protocol than HTTP"}, "append use-ascii list-only ftp-pasv")
	add(option{effect: refused, takes: true, why: "it belongs to another protocol than HTTP"},
		"quote telnet-option ftp-port mail-from mail-rcpt")
	add(option{effect: refused, why: "the command then asks no server"}, "help version manual")
	return all
}

// find returns the option of a long name, and the name that the table has for it.
func find(name string) (string, option, bool) {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	if o, ok := options[name]; ok {
		return name, o, true
	}
	if positive, negated := strings.CutPrefix(name, "no-"); negated {
		if o, ok := options[positive]; ok && !o.takes {
			return name, option{}, true
		}
	}
	// curl takes the beginning of a name, if no other name begins so.
	var begin []string
	for other := range options {
		if strings.HasPrefix(other, name) && len(name) > 1 {
			begin = append(begin, other)
		}
	}
	if len(begin) != 1 {
		return name, option{}, false
	}
	return begin[0], options[begin[0]], true
}

// guess returns what an unknown option may be a slip of.
func guess(name string) string {
	near := nearest.Names(name, slices.Sorted(maps.Keys(options)))
	if len(near) == 0 {
		return "delete it if it does not change the request"
	}
	return "did you mean --" + strings.Join(near, " or --") + "?"
}
