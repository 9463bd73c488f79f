package main

// lasts is what commands do while one waits for them; see [cli.Lasts]. A command that is not here must end
// within two seconds: the test of this list has the reason of each.
func lasts() map[string]string {
	return map[string]string{
		"arrivals make":  "drawing the arrivals",
		"arrivals show":  "reading the recording",
		"audit":          "starting the service to audit against",
		"call":           "making the call",
		"capacity":       "preparing the search",
		"chaos logging":  "preparing the runs",
		"compare":        "preparing the experiment",
		"curve":          "preparing the curve",
		"db seed":        "looking for the server",
		"db start":       "starting PostgreSQL",
		"db status":      "asking the server what it holds",
		"db stop":        "stopping PostgreSQL",
		"decide":         "reading the result",
		"doctor":         "looking at this machine",
		"explain":        "preparing the explanation",
		"relay":          "opening the relay",
		"replay":         "preparing the replay",
		"report":         "reading the result",
		"results check":  "checking the result",
		"results export": "exporting the result",
		"results import": "importing results",
		"results list":   "reading the list of results",
		"results name":   "naming the result",
		"results pull":   "opening both stores",
		"results push":   "opening both stores",
		"results rm":     "removing results",
		"results show":   "reading the result",
		"run":            "preparing the experiment",
		"selftest":       "preparing the tests",
		"serve":          "starting the server",
		"serve-results":  "opening the results",
		"up logging":     "starting the log pipeline",
		"up messaging":   "starting the cluster",
		"verify":         "computing the result again",
	}
}
