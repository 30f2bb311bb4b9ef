module mayfly/guest

go 1.25
