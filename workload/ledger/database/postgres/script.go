package postgres

import (
	"fmt"
	"strings"

	"wirelab"
	"wirelab/workload/ledger"
)

// script returns the statements of an operation for pgbench, which draws an account as [ledger.Known] does.
func script(data, operation, requests string) (wirelab.Script, error) {
	if operation != "GetBalance" || requests != ledger.Known {
		return wirelab.Script{}, wirelab.Errorf(wirelab.Unimplemented,
			"pgbench can run GetBalance of known accounts (--requests %s) only, and not %s", ledger.Known, operation)
	}
	set, err := ledger.SetOf(data)
	if err != nil {
		return wirelab.Script{}, err
	}
	stem, first, last := set.Known()
	// Parameters of pgbench are numbers, so the id is built from one here.
	balance := strings.Replace(statements()[balanceStatement], "$1", fmt.Sprintf("('%s' || :account)", stem), 1)
	return wirelab.Script{
		Schema: schemaOf(set),
		Text:   fmt.Sprintf("\\set account random(%d, %d)\n%s;\n", first, last, balance),
	}, nil
}
