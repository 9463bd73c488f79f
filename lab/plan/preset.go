package plan

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"wirelab"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Presets returns the plans that come with the program, by name. They are not completed, so that a flag can still
// change a field. Presets panics if one cannot be read: they are part of the source, and a test reads them all.
func Presets() []Plan {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(fmt.Sprintf("plan: presets: %v", err))
	}
	presets := make([]Plan, 0, len(entries))
	for _, entry := range entries {
		file := path.Join("presets", entry.Name())
		data, err := presetFiles.ReadFile(file)
		if err != nil {
			panic(fmt.Sprintf("plan: %v", err))
		}
		p, err := Parse(file, data)
		if err != nil {
			panic(fmt.Sprintf("plan: %v", err))
		}
		p.Name = strings.TrimSuffix(entry.Name(), ".yaml")
		presets = append(presets, p)
	}
	// Sorted by name. The files were sorted with their ending, which may order two names differently if one is the
	// beginning of the other.
	slices.SortFunc(presets, func(a, b Plan) int { return strings.Compare(a.Name, b.Name) })
	return presets
}

// Preset returns the plan with a name, as [Presets] does.
func Preset(name string) (Plan, error) {
	var known []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Plan{}, wirelab.UnknownName("preset", name, known, "wirelab presets")
}
