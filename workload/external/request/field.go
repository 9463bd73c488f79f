package request

import "strings"

// secret are the names of fields with a secret value. secretPart are parts that mark a name as secret.
var (
	secret = []string{
		"authorization", "proxy-authorization", "cookie", "set-cookie", "cookie2", "set-cookie2", "authentication-info",
		"x-amz-security-token", "x-goog-iap-jwt-assertion", "x-forwarded-access-token", "auth", "x-auth", "key", "sig",
		"signature", "jwt", "sid", "sessionid", "phpsessid", "jsessionid", "pwd", "pass", "pin", "otp", "code_verifier",
	}
	secretPart = []string{
		"token", "secret", "password", "passwd", "passphrase", "apikey", "api-key", "api_key", "accesskey",
		"access-key",
		"access_key", "privatekey", "private-key", "private_key", "subscription-key", "functions-key", "master-key",
		"credential", "authorization", "signature", "session-id", "session_id", "csrf", "xsrf", "cookie", "bearer",
	}
)

// Secret reports whether the value of a field with this name must not be shown. The same holds for query
// parameters, metadata and variables. A doubtful name is secret.
func Secret(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, s := range secret {
		if name == s {
			return true
		}
	}
	for _, s := range secretPart {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// connection are the fields that a client writes itself for its connection and its body.
var connection = map[string]bool{
	"connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authenticate": true,
	"te": true, "trailer": true, "transfer-encoding": true, "upgrade": true, "content-length": true,
	"http2-settings": true, "expect": true, "alt-svc": true, "alt-used": true,
}

// OfConnection reports whether a recorded field belongs to the connection that it was recorded on, and must not be
// sent on another. The pseudo-header fields of HTTP/2 are such fields.
func OfConnection(name string) bool {
	return strings.HasPrefix(name, ":") || connection[strings.ToLower(name)]
}

// FieldName reports whether a text is a valid name of a header field.
func FieldName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// FieldValue reports whether a text is a valid value of a header field.
func FieldValue(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// Method reports whether a text is a valid HTTP method.
func Method(text string) bool { return len(text) <= 32 && FieldName(text) }
