package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/result"
)

// unchecked says that no certificate was checked, if the user asked for that.
func unchecked(r *result.Result) string {
	if !r.Plan.TLS.Insecure {
		return ""
	}
	return "the certificates of targets were not checked (--insecure), so any server could have answered"
}

// secured says which versions of TLS the targets negotiated, and whether the arms differ in it. Our own servers speak
// only 1.3, so without targets it says nothing.
func secured(r *result.Result) string {
	var arms Groups[string, string]
	told := false
	for i, arm := range r.Arms {
		if len(arm.TLS) == 0 {
			continue
		}
		told = told || r.Plan.Arms[i].Target != ""
		arms.Add(strings.Join(arm.TLS, " and "), arm.Name)
	}
	if !told {
		return ""
	}
	slices.Sort(arms.Keys)
	parts := arms.Each(func(version string, names []string) string { return version + " with " + List(names) })
	text := strings.Join(parts, ", ")
	if len(parts) > 1 {
		text += "; what these versions cost is part of the difference"
	}
	return text
}

// addressesShown is how many addresses of a target are named. The stored result has all of them.
const addressesShown = 8

// reached says which addresses the connections to a target reached, if that is more than the name of the target says.
func reached(target string, addresses []string) string {
	if len(addresses) == 0 || len(addresses) == 1 && addresses[0] == target {
		return ""
	}
	shown := addresses[:min(len(addresses), addressesShown)]
	text := " (connected to " + List(shown)
	if more := len(addresses) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}
