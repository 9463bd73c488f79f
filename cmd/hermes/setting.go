package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/wire/status"
)

// A setting is a flag that may also come from the environment or a file: --data-dir, $HERMES_DATA_DIR,
// data_dir. There is no list of them next to the flags, so the help shows the flags that are read.

// configFlag names the file.
const configFlag = "config"

// markSetting is the annotation of flags that are settings.
const markSetting = "hermes/setting"

// setting marks flags as settings.
func setting(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, markSetting, []string{"true"}); err != nil {
			panic(err) // the flag is not there: a mistake in the source
		}
	}
}

func variable(flag string) string { return "HERMES_" + strings.ToUpper(key(flag)) }

func key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// eachSetting visits the settings in order of name.
func eachSetting(flags *pflag.FlagSet, visit func(*pflag.Flag)) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[markSetting] != nil {
			visit(f)
		}
	})
}

// settle gives every setting that is no flag on the command line its value from the
// environment, or else from the file.
func (a *app) settle(ctx context.Context, flags *pflag.FlagSet) error {
	name := a.getenv(variable(configFlag))
	if f := flags.Lookup(configFlag); f.Changed {
		name = f.Value.String()
	}
	file, err := readSettings(ctx, name)
	if err != nil {
		return err
	}
	var known []string
	var wrong error
	eachSetting(flags, func(f *pflag.Flag) {
		known = append(known, key(f.Name))
		value, inFile := file[key(f.Name)]
		delete(file, key(f.Name))
		env := a.getenv(variable(f.Name))
		switch {
		case wrong != nil || f.Changed:
		case env != "":
			wrong = assign(f, "$"+variable(f.Name), strings.Fields(env), env)
		case inFile && value != nil:
			wrong = assign(f, name+": "+key(f.Name), words(value), fmt.Sprint(value))
		}
	})
	if wrong == nil && len(file) > 0 {
		wrong = fmt.Errorf("%s: %w", name, status.UnknownName("setting", slices.Sorted(maps.Keys(file))[0], known,
			"hermes config"))
	}
	return wrong
}

// words are the values of a list, or the one value.
func words(value any) []string {
	list, ok := value.([]any)
	if !ok {
		return []string{fmt.Sprint(value)}
	}
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = fmt.Sprint(v)
	}
	return all
}

// assign sets a flag, to a list where it is one.
func assign(f *pflag.Flag, where string, list []string, text string) error {
	var err error
	if many, ok := f.Value.(pflag.SliceValue); ok {
		err = many.Replace(list)
	} else {
		err = f.Value.Set(text)
	}
	if err != nil {
		return cli.Usage("%s is %.100q: %v", where, text, err)
	}
	return nil
}

// readSettings reads a file; none has no settings.
func readSettings(ctx context.Context, name string) (map[string]any, error) {
	if name == "" {
		return nil, nil
	}
	data, err := input.File(ctx, name, settingsLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, status.Errorf(status.NotFound,
			"there is no file or folder %s; hermes config prints one to begin with",
			name)
	case err != nil:
		return nil, fault.Unread("--config", name, err)
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(data, &settings); err != nil {
		return nil, cli.Usage("%s is no YAML of names and values: %s", name,
			strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return settings, nil
}

// sample is a file with every setting, as comments with their defaults.
func sample(flags *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("# Settings of a node of Hermes. A flag overrides its variable in the environment,\n# and the " +
		"variable overrides this file.\n")
	eachSetting(flags, func(f *pflag.Flag) {
		_, about := pflag.UnquoteUsage(f)
		value := f.DefValue
		if f.Value.Type() == "string" {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&b, "\n# %s\n# --%s, $%s\n# %s: %s\n", about, f.Name, variable(f.Name), key(f.Name), value)
	})
	return b.String()
}

// size is a number of bytes: 1048576, 64KiB, 256MiB, 1GiB.
type size int64

var units = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}

func (s *size) Set(text string) error {
	shift, number := 0, text
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, shift = strings.TrimSpace(n), u.shift
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || bits.Len64(uint64(n))+shift > 62 {
		return fmt.Errorf("a size is a number of bytes, or one with KiB, MiB, GiB or TiB behind it")
	}
	*s = size(n << shift)
	return nil
}

func (s *size) String() string {
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; *s != 0 && *s%(1<<u.shift) == 0 {
			return strconv.FormatInt(int64(*s>>u.shift), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "size" }
