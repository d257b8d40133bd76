module commit-status/calls

go 1.21
