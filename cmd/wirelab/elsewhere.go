package main

import (
	"errors"
	"fmt"
	"strings"

	"wirelab"
	"wirelab/lab/prepare"
)

// describe is an error for the person at the terminal. Of a name that is not known where it was written it
// says what the name stands for elsewhere: "kafka" in the place of a preset is a protocol.
func (a *app) describe(err error) string { return a.Services.Hidden(a.described(err)) }

func (a *app) described(err error) string {
	text := describe(err)
	if a.Unkept != nil && errors.Is(err, a.Unkept) && err != a.Unkept { //nolint:errorlint // it alone
		return text + "; " + describe(a.Unkept)
	}
	coded := new(wirelab.Error)
	if !errors.As(err, &coded) || coded.Unknown == "" {
		return text
	}
	says := prepare.Elsewhere(&a.Lab, coded.Unknown)
	quoted := fmt.Sprintf("%.100q", coded.Unknown)
	if says == "" || !strings.Contains(text, quoted) {
		return text
	}
	return strings.Replace(text, quoted, quoted+"; "+coded.Unknown+" is "+says, 1)
}
