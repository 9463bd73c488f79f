package plan

import "wirelab/internal/yamlform"

// SizeLimit is the maximum size of a plan's file in bytes: about fifty times the longest sensible one.
const SizeLimit = 64 << 10

// form describes a plan's file to [yamlform.Read].
func form() yamlform.Form {
	return yamlform.Form{What: "plan", Needs: "names a workload, an operation and arms", Limit: SizeLimit}
}

// Parse reads a plan from YAML, of which JSON is a subset. name is the name of the file. Errors use it, and show the
// line and the place in it. Parse is as strict as [yamlform.Read], and refuses a duration without a unit.
//
// Only the shape of the plan is checked: see [Plan.Complete].
func Parse(name string, data []byte) (Plan, error) { return yamlform.Read[Plan](form(), name, data) }
