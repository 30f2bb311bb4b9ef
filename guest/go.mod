module mayfly/guest

go 1.24
