package postgres

import (
	"os"
	"testing"

	"wirelab/system/postgres/postgrestest"
)

// server is set before the first test and not changed after.
var server *postgrestest.Server

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, func(s *postgrestest.Server) { server = s }))
}
