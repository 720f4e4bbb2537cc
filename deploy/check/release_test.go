package check

import (
	"debug/elf"
	"errors"
	"os"
	"testing"
)

// release is the target of the Makefile that builds the released program. TestMain and the Dockerfile use it.
const release = "build"

// mostBytes is the largest size of the released program: 40 MB.
const mostBytes = 40_000_000

// TestTheReleaseIsSmall: the build has no symbols, needs no library, and keeps within its size.
func TestTheReleaseIsSmall(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the release has %d bytes", info.Size())
	if info.Size() > mostBytes {
		t.Errorf(
			"the release has %d bytes; at most %d. What is big: go build -o x ./cmd/parley && go tool nm -size -sort "+
				"size x; docs/adr/0065-a-smaller-release.md lists what helped",
			info.Size(),
			mostBytes,
		)
	}
	program, err := elf.Open(binary)
	if errors.As(err, new(*elf.FormatError)) {
		t.Skip("symbols and libraries are checked only in Linux programs")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if symbols, err := program.Symbols(); !errors.Is(err, elf.ErrNoSymbols) {
		t.Errorf("it has %d symbols (%v)", len(symbols), err)
	}
	if program.Section(".debug_info") != nil || program.Section(".zdebug_info") != nil {
		t.Error("it contains debugging information")
	}
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %q (%v)", libraries, err)
	}
}
