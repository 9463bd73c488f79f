package bind

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"PostTransaction": "each call posts a new transaction, and a raw driver repeats requests that " +
			"were made " +
			"beforehand",
		"StreamTransactions": "each event tells when it was sent, so that no reply has the bytes of one before, " +
			"by which " +
			"a raw driver knows it: it would decode every event as a library's client does",
	}
}
