package flow

import (
	"os"
	"testing"

	"callgate/internal/testserver/unraced"
)

func TestMain(m *testing.M) { os.Exit(unraced.Main(m)) }
