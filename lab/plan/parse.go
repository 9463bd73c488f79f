package plan

import "wirelab/internal/yamlform"

// SizeLimit is the most bytes that a plan may have: some fifty times the
// longest one that makes sense.
const SizeLimit = 64 << 10

// form is that of a plan's file.
func form() yamlform.Form {
	return yamlform.Form{What: "plan", Needs: "names a workload, an operation and arms", Limit: SizeLimit}
}

// Parse reads a plan from YAML, of which JSON is a part. name is the file's,
// for errors; those show the line and point at the place. It takes what [yamlform.Read]
// takes, and so no duration without a unit.
//
// What is written is then what was meant.
// The plan is not checked beyond its shape: see [Plan.Complete].
func Parse(name string, data []byte) (Plan, error) { return yamlform.Read[Plan](form(), name, data) }
