package main

import (
	"github.com/spf13/pflag"

	"wirelab/lab/services"
)

func registerExternal(f *services.Choice, flags *pflag.FlagSet) {
	flags.StringVar(&f.Operation, "operation", "",
		"of an external service: the `operation` to call (default: the only one)")
	flags.StringVar(&f.Start, "start", "",
		"of an external service: the `command` that starts it, with $PORT; in place of its description's")
	flags.StringVar(&f.MayLoad, "i-may-load", "",
		"of an external service: its `host`, if it is another machine and you may load it")
}

// registerVersions registers the flags that compare versions of one service.
func registerVersions(f *services.Choice, flags *pflag.FlagSet) {
	flags.StringVar(&f.Base, "base", "", "of an external service: the `version` to compare with: git:REF, or a folder")
	flags.StringVar(&f.Head, "head", "",
		"of an external service: the `version` that is compared with --base: git:REF, or a folder")
	flags.StringVar(&f.Build, "build", "",
		"of --base and --head: the `command` that builds the service, in the folder of each")
}
