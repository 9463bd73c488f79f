package outages

import (
	"context"

	"wirelab"
	"wirelab/results/report"
)

// chaosLimit is the greatest number of runs in all files together, far more than users make.
const chaosLimit = 10_000

// Read reads files of chaos runs: all of them, or none if one has an error.
func Read(
	ctx context.Context, read func(context.Context, string, string, int64) ([]byte, error), files []string,
) ([]report.Outage, error) {
	var all []report.Outage
	for _, name := range files {
		data, err := read(ctx, "--chaos", name, outagesLimit)
		if err != nil {
			return nil, err
		}
		runs, err := Decode(data)
		if err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--chaos %s: %v; want what 'wirelab chaos logging --json' writes", name, err)
		}
		for i := range runs {
			all = append(all, Of(&runs[i])...)
		}
		if len(all) > chaosLimit {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "--chaos %s: more than %d runs", name, chaosLimit)
		}
	}
	return all, nil
}

// outagesLimit is the greatest size in bytes of a file of chaos runs: enough for ten thousand runs, far more than
// users make.
const outagesLimit = 64 << 20
