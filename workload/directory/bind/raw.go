package bind

// rawHoles are the operations that no raw driver carries.
func rawHoles() map[string]string {
	return map[string]string{
		"CreatePerson": "each call creates a person under a new id, and a raw driver repeats requests " +
			"that were " +
			"made beforehand",
		"ProgramComposition": "it is a program of eight calls, one of which creates a person under a new id, " +
			"and a raw driver makes single calls and repeats them",
	}
}
