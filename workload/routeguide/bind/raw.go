package bind

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"RouteChat": "its replies depend on what was said before, and come while the call is still sending: " +
			"neither can be made beforehand",
	}
}
