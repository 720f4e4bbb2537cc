package parley

import (
	"strconv"
	"strings"
)

// Money is an amount in nanodollars (1e-9 USD): integers add up exactly. In
// JSON it is a decimal number of dollars.
type Money int64

// String is the amount in dollars, for example "0.00015".
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
	dollars, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return Errorf(CodeInvalid, "an amount is a number of US dollars")
	}
	nano := dollars * 1e9
	if nano < 0 {
		*m = Money(nano - 0.5)
		return nil
	}
	*m = Money(nano + 0.5)
	return nil
}
