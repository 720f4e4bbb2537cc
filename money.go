package parley

import (
	"math"
	"strconv"
	"strings"
)

// Money is an amount in nanodollars (1e-9 USD), so that sums are exact. In JSON it is a decimal number of dollars.
type Money int64

// String returns the amount in dollars, for example "0.00015".
func (m Money) String() string {
	sign := ""
	n := int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	whole, frac := n/1e9, n%1e9
	if frac == 0 {
		return sign + strconv.FormatInt(whole, 10)
	}
	digits := strconv.FormatInt(1e9+frac, 10)[1:]
	return sign + strconv.FormatInt(whole, 10) + "." + strings.TrimRight(digits, "0")
}

// MarshalJSON writes a decimal number of dollars.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a decimal number of dollars.
func (m *Money) UnmarshalJSON(data []byte) error {
	if exact, ok := parseDecimal(string(data)); ok {
		*m = exact
		return nil
	}
	dollars, err := strconv.ParseFloat(string(data), 64)
	nano := math.Round(dollars * 1e9)
	if err != nil || math.Abs(nano) >= 1<<63 {
		return Errorf(CodeInvalid, "an amount is a number of US dollars")
	}
	*m = Money(nano)
	return nil
}

// parseDecimal reads what String writes, exactly; false for longer fractions, exponents and overflow.
func parseDecimal(text string) (Money, bool) {
	whole, frac, _ := strings.Cut(text, ".")
	if len(frac) > 9 {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	return Money(n), err == nil
}
