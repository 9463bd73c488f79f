package bind

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"WriteLog": "each call writes an entry under a new id, and a raw driver repeats requests that " +
			"were made " +
			"beforehand: their entries would be stored once and found ever after",
	}
}
