package postgres

import (
	"os"
	"testing"

	"wirelab/postgres"
	"wirelab/postgres/postgrestest"
)

// server is set before the first test and not changed after.
var server *postgres.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, func(s *postgres.Server) { server = s }))
}
