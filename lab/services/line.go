package services

import (
	"strings"

	"wirelab/system/postgres"
)

// TypedLine is the command line in a form that a shell accepts again. It is stored with results, so secrets are
// removed, and a connection string keeps only its address.
func TypedLine(args []string, hide func(string) string) string {
	words := []string{"wirelab"}
	for i, arg := range args {
		arg = WithoutQuerySecrets(withoutSecrets(arg))
		if i > 0 && (args[i-1] == "-H" || args[i-1] == "--header") {
			arg = WithoutHeaderSecret(arg)
		}
		for _, flag := range []string{"--header=", "-H"} {
			if header, ok := strings.CutPrefix(arg, flag); ok {
				arg = flag + WithoutHeaderSecret(header)
			}
		}
		arg = hide(arg) // before it is quoted
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%", r)
		}) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// withoutSecrets reduces a connection string to where the database is. It also handles --flag=value.
func withoutSecrets(arg string) string {
	flag, value := "", arg
	if strings.HasPrefix(arg, "--") {
		if name, rest, ok := strings.Cut(arg, "="); ok {
			flag, value = name+"=", rest
		}
	}
	switch {
	case strings.HasPrefix(value, "postgres://"), strings.HasPrefix(value, "postgresql://"):
		return flag + "postgres://" + postgres.Redact(value)
	case strings.Contains(value, "password="):
		return flag + "postgres://" + postgres.Redact(value)
	}
	return arg
}
