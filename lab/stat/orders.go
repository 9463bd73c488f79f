package stat

import "math/bits"

// OrdersMax is the maximum number of changes for [Orders].
const OrdersMax = 12

// Orders attributes a difference to the changes that cause it. It goes from no change to all n changes, one after
// another, in every possible order, and each order counts the same. A change's share is the average effect on the
// figure when it is made. This is the Shapley value (L. S. Shapley, A value for n-person games, Annals of Mathematics
// Studies 28, 1953), which A. F. Shorrocks (Journal of Economic Inequality 11, 2013) proposes for decomposing
// differences.
//
// Sets of changes are bit sets. can reports which sets are possible. Orders through other sets are left out, which is
// the value of U. Faigle and W. Kern under precedence constraints (International Journal of Game Theory 21, 1992).
// cell returns the cell that has a set's changes, from 0 to below cells, or −1 if it was not measured.
//
// shares has a weight for each change and cell. If a needed set was not measured, shares is nil and missing has those
// sets. Both are nil if there is no possible order, or if n is not 1 to [OrdersMax]. The shares add up, weight by
// weight, to the last cell minus the first.
func Orders(n, cells int, can func(set uint) bool, cell func(set uint) int) (shares [][]float64, missing []uint) {
	if n < 1 || n > OrdersMax {
		return nil, nil
	}
	all := uint(1)<<n - 1
	possible := func(set uint) bool { return set == 0 || set == all || can(set) }
	// The number of paths from no change to each set, and from each set to all changes.
	from, to := make([]float64, all+1), make([]float64, all+1)
	from[0], to[all] = 1, 1
	for set := uint(1); set <= all; set++ {
		for i := range n {
			if before := set &^ (1 << i); before != set && possible(set) {
				from[set] += from[before]
			}
		}
	}
	for set := int(all) - 1; set >= 0; set-- {
		for i := range n {
			if after := uint(set) | 1<<i; after != uint(set) && possible(uint(set)) {
				to[set] += to[after]
			}
		}
	}
	orders := from[all]
	if orders == 0 {
		return nil, nil
	}
	at := make([]int, all+1)
	for set := range at {
		if from[set] == 0 || to[set] == 0 {
			continue // on no possible order
		}
		if at[set] = cell(uint(set)); at[set] < 0 || at[set] >= cells {
			missing = append(missing, uint(set))
		}
	}
	if len(missing) > 0 {
		return nil, missing
	}
	shares = make([][]float64, n)
	for i := range shares {
		shares[i] = make([]float64, cells)
		for set := range all {
			after := set | 1<<i
			if ways := from[set] * to[after] / orders; after != set && ways > 0 {
				shares[i][at[after]] += ways
				shares[i][at[set]] -= ways
			}
		}
	}
	return shares, nil
}

// Changes lists the bits of a set, ascending.
func Changes(set uint) []int {
	all := make([]int, 0, bits.OnesCount(set))
	for ; set != 0; set &= set - 1 {
		all = append(all, bits.TrailingZeros(set))
	}
	return all
}
