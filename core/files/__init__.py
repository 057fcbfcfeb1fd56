"""What people attach: told apart by content, turned into text where possible, refused by code where not."""
