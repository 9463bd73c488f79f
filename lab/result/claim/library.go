package claim

// Library is what a client library adds to a call. The same cell under the same load was called once through the
// library and once by the raw driver.
type Library struct { // the arm called through the library
	Client int `json:"client"` // arm called through the library
	Raw    int `json:"raw"`    // the arm called by the raw driver
	// Server is the server's CPU time per request under the raw driver, in ns.
	Server Estimate `json:"server"`
	// Driver is the raw driver's own CPU time per request, and Adds is how much more the library's side used, paired
	// by rounds, in ns.
	Driver Estimate `json:"driver"`
	Adds   Estimate `json:"adds"`
}
