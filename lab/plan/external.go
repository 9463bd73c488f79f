package plan

import "wirelab"

// The bounds of external services in a plan.
const (
	externalMax  = 8
	describedMax = 256 << 10 // bytes of a description
)

// External is a service that is not part of wirelab.
type External struct {
	// File is the name of its description. Files that the description names are looked up relative to it.
	File string `json:"file,omitempty" yaml:"file,omitempty"`
	// Text is the description itself, which is stored with the result. Empty: it is read from File.
	Text string `json:"text,omitempty" yaml:"text,omitempty"`
	// As is the service's name in this plan, for several versions of one service. Empty: the name in the description.
	As string `json:"as,omitempty" yaml:"as,omitempty"`
	// From is the version to start: "git:REF", or a folder. Build is the command that builds it there. Commit is the
	// commit that From stood for when it was built; wirelab fills it in.
	From   string `json:"from,omitempty" yaml:"from,omitempty"`
	Build  string `json:"build,omitempty" yaml:"build,omitempty"`
	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"`
	// Digest is the SHA-256, in hex, of the files that the description names; wirelab fills it in. A plan with a
	// digest is refused if these files have changed.
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Start is the command that starts the service, and Program the program. Empty: those in the description.
	Start   string `json:"start,omitempty" yaml:"start,omitempty"`
	Program string `json:"program,omitempty" yaml:"program,omitempty"`
}

// checkExternal checks the external services of the plan.
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
