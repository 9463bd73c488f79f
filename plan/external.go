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
}

// checkExternal checks what the plan has of external services.
func (p Plan) checkExternal() error {
	if len(p.External) > externalMax {
		return tooMany("external", len(p.External), "services", externalMax)
	}
	for _, e := range p.External {
		switch {
		case e.File == "" && e.Text == "":
			return wirelab.Errorf(wirelab.InvalidArgument, "external has a service without file and text; write for example file: shop.yaml")
		case len(e.Text) > describedMax:
			return outside("external.text", "longer", "at most 256 KiB")
		}
		if err := readable("external.file", e.File, fileMax); err != nil {
			return err
		}
	}
	return nil
}
