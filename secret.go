package wirelab

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Hidden replaces a secret in texts.
const Hidden = "(secret)"

// Hide replaces secret values in a text, also where they are escaped as in URLs, JSON, Go and HTML.
func Hide(text string, secrets []string) string {
	for _, secret := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if secret == "" {
			continue
		}
		quoted, _ := json.Marshal(secret) // a string can always be encoded
		var plain strings.Builder
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(secret) // likewise
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), (&url.URL{Path: secret}).EscapedPath(),
			unquoted(string(quoted)), unquoted(strings.TrimSpace(plain.String())), unquoted(strconv.Quote(secret)),
			unquoted(strconv.QuoteToASCII(secret)),
		} {
			text = strings.ReplaceAll(text, form, Hidden)
		}
	}
	return text
}

// unquoted returns a quoted text without its quotes.
func unquoted(text string) string { return text[1 : len(text)-1] }
