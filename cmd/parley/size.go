package main

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/parley"
)

// size is a number of bytes, spelled as 500MiB or 1048576. It is a flag's value too.
type size int64

// UnmarshalText reads a size such as 500MiB.
func (s *size) UnmarshalText(text []byte) error {
	number, unit := strings.TrimSpace(string(text)), int64(1)
	for i, name := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if bare, ok := strings.CutSuffix(number, name); ok {
			number, unit = strings.TrimSpace(bare), int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > parley.MaxQuota/unit {
		return fmt.Errorf("%q is not a valid size: write 1048576, 500MiB or 10GiB", text)
	}
	*s = size(n * unit)
	return nil
}

// Set implements pflag.Value.
func (s *size) Set(text string) error { return s.UnmarshalText([]byte(text)) }

// Type implements pflag.Value.
func (*size) Type() string { return "size" }

// String implements pflag.Value.
func (s *size) String() string {
	for i, name := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if unit := size(1) << (40 - 10*i); *s >= unit && *s%unit == 0 {
			return strconv.FormatInt(int64(*s/unit), 10) + name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}
