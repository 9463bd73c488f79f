package main

import (
	"github.com/spf13/pflag"

	"wirelab/lab/loads"
)

func registerStreams(f *loads.Streams, flags *pflag.FlagSet) {
	flags.IntVar(&f.Count, "streams", 0,
		"hold this number of streams open instead of making calls; --rate is then events per second of all streams "+
			"together")
	flags.StringSliceVar(&f.Readers, "reader", nil,
		"read each stream at this share of its rate, such as `50%`; several are several loads (default 100%: as fast "+
			"as possible)")
}
