package main

// resultsFlag names the flag of every command that opens the store.
const resultsFlag = "results"
