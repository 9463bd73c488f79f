package inject

import (
	"wirelab"
	"wirelab/internal/fault"
)

// Hook returns the cell with an injected behaviour. The caller must close the injector after the cell has been served.
func Hook(cell wirelab.Cell, text string) (wirelab.Cell, *Injector, error) {
	behaviour, err := Parse(text)
	if err != nil {
		return cell, nil, err
	}
	injector, err := behaviour.Start()
	if err != nil {
		return cell, nil, err
	}
	if cell, err = cell.Hooked(injector.Hooks()); err != nil {
		err = fault.Both(err, injector.Close())
	}
	return cell, injector, err
}
