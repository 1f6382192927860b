"""Devices: motors, drives, sensors, wheels and thrusters as models of `kido.systems`."""

from kido.devices.air import Parachute, Propeller
from kido.devices.drives import PID, Gear, JointFriction, Servo
from kido.devices.motors import BrushlessMotor, DCMotor, Winding
from kido.devices.navigation import GPS, IMU, Altimeter, StarTracker, SunSensor
from kido.devices.power import Battery
from kido.devices.sensors import Encoder, ForceSensor, Potentiometer, Sensor, Tachometer, TorqueSensor
from kido.devices.soil import SoilContact, SoilWheel, WheelOnSoil
from kido.devices.spacecraft import ControlMomentGyro, ReactionWheel, Thruster
from kido.devices.steering import Ackermann, DeadReckoning, EnergyMeter, PurePursuit, WheelDrive

__all__ = [
    "GPS",
    "IMU",
    "PID",
    "Ackermann",
    "Altimeter",
    "Battery",
    "BrushlessMotor",
    "ControlMomentGyro",
    "DCMotor",
    "DeadReckoning",
    "Encoder",
    "EnergyMeter",
    "ForceSensor",
    "Gear",
    "JointFriction",
    "Parachute",
    "Potentiometer",
    "Propeller",
    "PurePursuit",
    "ReactionWheel",
    "Sensor",
    "Servo",
    "SoilContact",
    "SoilWheel",
    "StarTracker",
    "SunSensor",
    "Tachometer",
    "Thruster",
    "TorqueSensor",
    "WheelDrive",
    "WheelOnSoil",
    "Winding",
]
