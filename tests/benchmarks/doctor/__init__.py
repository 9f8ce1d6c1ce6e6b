"""The doctor, each cause of trouble made true."""
