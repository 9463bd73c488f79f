package report

import "wirelab/result"

// unchecked says that no certificate was checked, where that was asked for.
func unchecked(r *result.Result) string {
	if !r.Plan.TLS.Insecure {
		return ""
	}
	return "the certificates of targets were not checked (--insecure), so any server could have answered"
}
