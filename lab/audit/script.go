package audit

import "strconv"

// Tools that cannot take a request body on the command line take a script.

// Script returns a script with which a tool sends body to url, and the extension of the script's file name. ok is false
// for tools that need no script.
func Script(tool, url, body string) (text, ending string, ok bool) {
	switch tool {
	case "wrk", "wrk2":
		return "wrk.method = \"POST\"\n" +
			"wrk.body = " + strconv.Quote(body) + "\n" +
			"wrk.headers[\"Content-Type\"] = \"application/json\"\n", ".lua", true
	case "k6":
		return k6Script(url, body), ".js", true
	}
	return "", "", false
}

// k6Script sends at a constant rate, with the executor for a constant arrival rate. Its numbers come from the
// environment that k6 -e sets.
func k6Script(url, body string) string {
	return `import http from 'k6/http';

const vus = Number(__ENV.VUS || 10);

export const options = {
  scenarios: {
    steady: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE || 200),
      timeUnit: '1s',
      duration: __ENV.DURATION || '20s',
      preAllocatedVUs: vus,
      maxVUs: Number(__ENV.MAXVUS || vus),
    },
  },
};

export default function () {
  http.post(` + strconv.Quote(url) + `, ` + strconv.Quote(body) + `, {
    headers: { 'Content-Type': 'application/json' },
  });
}
`
}
