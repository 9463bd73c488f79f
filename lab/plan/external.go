package plan

import "wirelab"

// The bounds of what a plan has of external services.
const (
	externalMax  = 8
	describedMax = 256 << 10 // bytes of a description
)

// External is a service that is not ours.
type External struct {
	// File is the name of its description. Files that the description names are looked for beside it.
	File string `json:"file,omitempty" yaml:"file,omitempty"`
	// Text is the description itself, which is stored with the result; empty: it is read from File.
	Text string `json:"text,omitempty" yaml:"text,omitempty"`
	// As is its name here, where there are several versions of one; empty: as the description has it.
	As string `json:"as,omitempty" yaml:"as,omitempty"`
	// From is the version that is started: "git:REF", or a folder. Build is the command that builds it there. Commit is
	// what From was when it was built; it is filled in.
	From   string `json:"from,omitempty" yaml:"from,omitempty"`
	Build  string `json:"build,omitempty" yaml:"build,omitempty"`
	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"`
	// Digest is SHA-256 of the files that the description names, in hex; it is filled in. A plan that has it is refused
	// where they have changed.
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Start is the command that starts it, and Program the program; empty: as the description has them.
	Start   string `json:"start,omitempty" yaml:"start,omitempty"`
	Program string `json:"program,omitempty" yaml:"program,omitempty"`
}

// checkExternal checks what the plan has of external services.
func (p Plan) checkExternal() error {
	if len(p.External) > externalMax {
		return tooMany("external", len(p.External), "services", externalMax)
	}
	for _, e := range p.External {
		switch {
		case e.File == "" && e.Text == "":
			return wirelab.Errorf(wirelab.InvalidArgument,
				"external has a service without file and text; write for example file: shop.yaml")
		case len(e.Text) > describedMax:
			return outside("external.text", "longer", "at most 256 KiB")
		}
		err := first(
			readable("external.file", e.File, fileMax), inForm("external.as", e.As, lowerName, "base"),
			readable("external.from", e.From, fileMax), readable("external.build", e.Build, fileMax),
			readable("external.start", e.Start, fileMax), readable("external.program", e.Program, fileMax),
			readable("external.commit", e.Commit, textMax), readable("external.digest", e.Digest, textMax),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
